import type { MiddlewareHandler } from 'astro'
import { theBackend } from './backend'

export const onRequest: MiddlewareHandler = async ({ request }, next) => (await theBackend().handle(request)) ?? next()
