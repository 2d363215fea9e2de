import { request as httpRequest, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** Sends exactly the headers of the request, which `fetch` would not: it adds fetch metadata of its own. One connection each. */
export async function sendPlain(request: Request): Promise<Response> {
  const body = Buffer.from(await request.arrayBuffer())
  const headers: Record<string, string | number> = Object.fromEntries(request.headers)
  if (body.length > 0) headers['content-length'] = body.length
  const answered = await new Promise<IncomingMessage>((resolve, reject) => {
    const sending = httpRequest(request.url, { method: request.method, headers, agent: false }, resolve)
    sending.once('error', reject)
    sending.end(body)
  })
  const answer = new Headers()
  for (let at = 0; at < answered.rawHeaders.length; at += 2)
    answer.append(answered.rawHeaders[at] ?? '', answered.rawHeaders[at + 1] ?? '')
  return new Response(await buffer(answered), { status: answered.statusCode ?? 0, headers: answer })
}
