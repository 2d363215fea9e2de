import { authPlugin } from 'agent-auth/vue'
import { createPinia } from 'pinia'
import { createApp } from 'vue'
import { createRouter, createWebHistory } from 'vue-router'
import { auth, requireSession } from '../auth'
import App from './App.vue'
import Models from './Models.vue'

const routes = [
  { path: '/models', component: Models, meta: { isProtected: true } },
  { path: '/:rest(.*)*', component: { template: '' } },
]
const router = createRouter({ history: createWebHistory(), routes })
router.beforeEach((to) => !to.meta.isProtected || requireSession(to.fullPath).catch(() => '/'))

await auth.ready().catch(() => {}) // shows the page that the user asked for, before the router reads the address
createApp(App).use(authPlugin(auth)).use(createPinia()).use(router).mount('#app')
