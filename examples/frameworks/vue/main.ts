import { authPlugin } from 'agent-auth/vue'
import { createPinia } from 'pinia'
import { createApp } from 'vue'
import { createRouter, createWebHistory } from 'vue-router'
import App from './App.vue'
import { auth, requireSession } from './auth'
import ModelCount from './ModelCount.vue'

// Before the router, which reads the address when it is created. `useAuth` has the error.
await auth.ready().catch(() => {})

const routes = [
  { path: '/models', component: ModelCount, meta: { isProtected: true } },
  { path: '/:rest(.*)*', component: { render: () => null } },
]
const router = createRouter({ history: createWebHistory(), routes })
router.beforeEach((to) => !to.meta.isProtected || requireSession(to.fullPath).catch(() => '/'))

createApp(App).use(authPlugin(auth)).use(createPinia()).use(router).mount('#app')
