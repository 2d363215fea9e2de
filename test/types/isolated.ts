// Checked by the compiler only: a line under `@ts-expect-error` that compiles is an error.
import type { IsolatedAuth } from 'agent-auth/browser/isolated'
import { serveAuth } from 'agent-auth/browser/worker'
import { type AuthStore, authStore } from 'agent-auth/svelte'

declare const auth: IsolatedAuth

/** The bindings take it. */
export const store: AuthStore = authStore(auth)

// @ts-expect-error: the page can get no token
export const tokenGetter: unknown = auth.session.getAccessToken

// @ts-expect-error: a popup would keep its verifier in the page
export const popup = (): Promise<void> => auth.signIn({ mode: 'popup' })

// @ts-expect-error: the worker shows no page
export const navigating = (): void => serveAuth({ ...({} as Parameters<typeof serveAuth>[0]), navigate() {} })
