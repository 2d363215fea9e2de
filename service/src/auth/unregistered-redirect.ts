const longestShown = 200

/** What the page says of a return address that is not registered. It is text there and never a link (S-003). */
export function unregisteredText(sent: string | undefined): string {
  const url = sent === undefined ? undefined : showableUrl(sent)
  if (url === undefined) return 'The return address is not registered for this application (redirect_uri).'
  const text = `The return address ${sent} is not registered for this application (redirect_uri).`
  if (url.protocol !== 'http:' || url.hostname !== 'localhost') return text
  const port = url.port === '' ? '' : `:${url.port}`
  return `${text} Open the application at http://127.0.0.1${port} instead.`
}

/** Printable ASCII alone, so that what is shown reads as it was sent; a password is not shown. */
function showableUrl(sent: string): URL | undefined {
  if (sent.length > longestShown || !/^https?:\/\/[\x21-\x7e]+$/i.test(sent) || !URL.canParse(sent)) return undefined
  const url = new URL(sent)
  return url.username === '' && url.password === '' ? url : undefined
}
