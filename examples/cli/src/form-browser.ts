/** A browser for pages without scripts: it keeps cookies, follows redirects and submits forms. */
export interface FormBrowser {
  /** Opens the authorize URL, signs in and approves. Returns the URL of the callback. */
  signInAndApprove(authorizeUrl: URL, redirectUri: string): Promise<string>
}

interface Page {
  readonly url: URL
  readonly html: string
}

export function createFormBrowser(send: typeof fetch, account: { email: string; password: string }): FormBrowser {
  const { email, password } = account
  const cookies = new Map<string, string>()

  const open = async (url: URL, init: RequestInit = {}): Promise<Page> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(init.headers as Record<string, string>), ...(cookie && { cookie }) }
    const response = await send(url, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) keep(cookies, line)
    const location = response.headers.get('location')
    if (location) return open(new URL(location, url))
    return { url, html: await response.text() }
  }
  const submit = (page: Page, values: Record<string, string>): Promise<Page> => {
    const form = page.html.match(/<form\b[^>]*>[\s\S]*?<\/form>/)?.[0]
    if (!form) throw new Error(`The page ${page.url.pathname} has no form.`)
    const fields = new URLSearchParams({ ...hiddenFields(form), ...values })
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: page.url.origin }
    return open(new URL(attribute(form, 'action') ?? page.url.href, page.url), {
      method: 'POST',
      body: fields.toString(),
      headers,
    })
  }
  return {
    async signInAndApprove(authorizeUrl, redirectUri) {
      let page = await open(authorizeUrl)
      while (!page.url.href.startsWith(redirectUri)) {
        const onward = page.html.match(/http-equiv="refresh" content="0; ?url=([^"]+)"/i)?.[1]
        if (onward) page = await open(new URL(decodeEntities(onward), page.url))
        else if (page.html.includes('name="password"')) page = await submit(page, { email, password })
        else page = await submit(page, { decision: 'approve' })
      }
      return page.url.href
    },
  }
}

function keep(cookies: Map<string, string>, setCookie: string): void {
  const [pair = '', ...attributes] = setCookie.split(';')
  const [name = '', ...value] = pair.trim().split('=')
  if (attributes.some((text) => /^\s*max-age=0\s*$/i.test(text))) cookies.delete(name)
  else cookies.set(name, value.join('='))
}

function hiddenFields(form: string): Record<string, string> {
  const inputs = form.match(/<input\b[^>]*type="hidden"[^>]*>/g) ?? []
  return Object.fromEntries(inputs.map((input) => [attribute(input, 'name') ?? '', attribute(input, 'value') ?? '']))
}

function attribute(tag: string, name: string): string | undefined {
  const value = tag.match(new RegExp(`\\b${name}="([^"]*)"`))?.[1]
  return value === undefined ? undefined : decodeEntities(value)
}

function decodeEntities(text: string): string {
  return text
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&')
}
