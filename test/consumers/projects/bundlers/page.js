import { createBrowserAuth, webStorage } from 'agent-auth/browser'
import { AuthProvider } from 'agent-auth/react'
import { createElement } from 'react'

export { login } from './login.js'
export const start = (options) => createBrowserAuth({ ...options, storage: webStorage(() => sessionStorage) })
export const app = (auth) => createElement(AuthProvider, { auth })
