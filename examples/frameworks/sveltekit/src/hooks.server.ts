import type { Handle } from '@sveltejs/kit'
import { backend } from '../../backend'

export const handle: Handle = async ({ event, resolve }) => (await backend().handle(event.request)) ?? resolve(event)
