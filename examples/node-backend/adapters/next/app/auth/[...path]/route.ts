import { theBackend } from '../../../backend'

async function handle(request: Request): Promise<Response> {
  return (await theBackend().handle(request)) ?? new Response('Not found', { status: 404 })
}

export { handle as DELETE, handle as GET, handle as PATCH, handle as POST, handle as PUT }
