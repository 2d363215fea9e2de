import { expect, onTestFinished, test } from 'vitest'
import { authorizeUrl, Browser, consentPath, type Page, personOf, signInPath } from '../support/login.ts'
import { createService } from '../support/start.ts'

/** What the two components with several looks have by default, which takes no rule. */
const defaults = ['narrow', 'cards']

/** The classes on a page that no rule of its style names. */
function classesWithoutRule({ html }: Page): string[] {
  const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(html) ?? []
  const names = [...html.matchAll(/ class="([^"]*)"/g)].flatMap(([, classes = '']) => classes.split(' '))
  return names.filter((name) => !defaults.includes(name) && (name === '' || !style.includes(`.${name}`)))
}

test('each class on a page has a rule in the style of the page', async () => {
  const service = await createService({ dev: 'on' })
  onTestFinished(service.close)
  const browser = new Browser(service.fetch)
  const { email, password } = personOf(service, 'ada')
  const clientsPath = '/auth/v1/clients'
  const clients = await browser.get(service.authUrl + clientsPath)
  await browser.submit(clients, `${clientsPath}/sign-in`, { email, password })
  const user = new Browser(service.fetch)
  const signIn = await user.get(authorizeUrl(service).url)
  const consent = await user.submit(signIn, signInPath, { email, password })
  const list = await browser.get(service.authUrl + clientsPath)
  const [, client = ''] = /href="([^"]*\/clients\/app_[^"]+)"/.exec(list.html) ?? []
  const shown: Record<string, Page> = {
    signIn,
    refused: await new Browser(service.fetch).submit(signIn, signInPath, { email, password: 'wrong' }),
    consent,
    unknownClient: await user.get(`${service.authUrl}/auth/v1/authorize?client_id=x`),
    clientsSignIn: clients,
    clients: list,
    client: await browser.get(new URL(client, service.authUrl).href),
    newClient: await browser.get(`${service.authUrl}${clientsPath}/new`),
    dev: await browser.get(`${service.authUrl}/_dev`),
    login: await browser.get(`${service.authUrl}/_dev/logins/1`),
    denied: await user.submit(consent, consentPath, {}),
  }
  const found = Object.entries(shown).map(([name, page]) => {
    return [name, { isPage: page.html.includes('<main class='), withoutRule: classesWithoutRule(page) }] as const
  })
  const fine = { isPage: true, withoutRule: [] }
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(Object.keys(shown).map((name) => [name, fine])))
})
