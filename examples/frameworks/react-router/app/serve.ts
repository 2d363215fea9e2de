import { theBackend } from './backend'

/** The routes of the backend, and those of the API in its list. */
export const loader = ({ request }: { request: Request }): Promise<Response | null> => theBackend().handle(request)
export const action: typeof loader = loader
