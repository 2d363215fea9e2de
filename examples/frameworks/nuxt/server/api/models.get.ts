import { countModels } from '../backend'

export default defineEventHandler((event) => countModels(event))
