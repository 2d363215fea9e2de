import type { Handle } from '@sveltejs/kit'
import { theBackend } from '$lib/backend'

export const handle: Handle = async ({ event, resolve }) => (await theBackend().handle(event.request)) ?? resolve(event)
