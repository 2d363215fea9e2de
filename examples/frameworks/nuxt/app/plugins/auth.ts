import { createBackendClient } from 'agent-auth/backend/client'
import { authPlugin } from 'agent-auth/vue'

export default defineNuxtPlugin(({ vueApp }) => {
  vueApp.use(authPlugin(createBackendClient()))
})
