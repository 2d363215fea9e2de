import { login } from './login.js'

export default {
  async fetch(request) {
    await login(await request.json())
    return new Response('signed in')
  },
}
