import { login } from './login.js'

const [settings] = globalThis.Deno?.args ?? process.argv.slice(2)
await login(JSON.parse(settings))
