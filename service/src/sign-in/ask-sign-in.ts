import type { Context } from 'hono'
import { isFromThisMachine } from '../http/forwarded.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import type { Account } from '../store/tables/accounts.ts'
import { listAccounts } from '../store/tables/accounts.ts'
import type { SignInPage } from './views/sign-in.tsx'
import { showSignIn } from './views/sign-in.tsx'

/** More buttons would hide the form. */
const mostUsersToChoose = 20

/** Shows the sign-in page of an authorization request. */
export async function askSignIn(c: Context<HttpEnvironment>, page: Omit<SignInPage, 'people'>): Promise<Response> {
  const people = mayChooseUser(c) ? (await activeAccounts(c)).slice(0, mostUsersToChoose) : []
  return showSignIn(c, { ...page, people })
}

/** Returns the user of this email address who may sign in without a password: none without the dev controls. */
export async function chosenAccount(c: Context<HttpEnvironment>, email: string): Promise<Account | undefined> {
  if (!mayChooseUser(c)) return undefined
  return (await activeAccounts(c)).find((account) => account.email === email)
}

/** By the rules of the dev controls, which show every password. */
function mayChooseUser(c: Context<HttpEnvironment>): boolean {
  return c.get('service').config.dev === 'on' && isFromThisMachine(c)
}

async function activeAccounts(c: Context<HttpEnvironment>): Promise<Account[]> {
  return (await listAccounts(c.get('service').store.db)).filter(({ active }) => active)
}
