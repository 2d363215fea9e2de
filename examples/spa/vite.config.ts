import type { UserConfig } from 'vite'

// The polyfill is for browsers older than this library's; without it nothing but our own modules is fetched.
const config: UserConfig = { build: { target: 'es2022', modulePreload: { polyfill: false } } }

export default config
