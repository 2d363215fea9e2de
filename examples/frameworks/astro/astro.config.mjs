import node from '@astrojs/node'
import { defineConfig } from 'astro/config'

export default defineConfig({
  output: 'server',
  adapter: node({ mode: 'standalone' }),
  devToolbar: { enabled: false },
  // Astro refuses a POST, such as the logout, whose origin is of another host.
  security: { allowedDomains: [{ hostname: '127.0.0.1' }] },
})
