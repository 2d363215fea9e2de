import {
  createRootRoute,
  createRouter as createTanStackRouter,
  RouterProvider,
  useLocation,
} from '@tanstack/react-router'
import { type BrowserAuth, createBrowserAuth, indexedDbStorage } from 'agent-auth/browser'
import { createElement, useEffect } from 'react'
import { createRoot } from 'react-dom/client'
import { createBrowserRouter } from 'react-router'
import { createApp, h, onMounted } from 'vue'
import { createRouter as createVueRouter, createWebHistory, type Router, RouterView, useRoute } from 'vue-router'
import type { PageConfig } from '../../browser/kinds.ts'

// An app that starts a router and `auth` in the orders that frameworks have. Each asks for `ready()` more than once.

declare global {
  interface Window {
    order: keyof typeof orders
    starts: { readonly results: readonly string[]; shown(): string; auth: BrowserAuth }
  }
}

const config = JSON.parse(document.querySelector('#config')?.textContent ?? '') as PageConfig
const results: string[] = []
let navigate: ((path: string) => void) | undefined
let shown = ''

const auth = createBrowserAuth({
  ...config,
  redirectUri: `${location.origin}/indexed/callback`,
  storage: indexedDbStorage(),
  navigate: (path) => (navigate ?? ((to) => history.replaceState(history.state, '', to)))(path),
})

async function ready(): Promise<void> {
  results.push(
    await auth.ready().then(
      ({ status }) => status,
      (error) => String(error.code ?? error),
    ),
  )
}

/** As routers run the loaders of a route and of its parent. */
const readyTwice = (): Promise<unknown> => Promise.all([ready(), ready()])

/** A router as SvelteKit has one: it commits a navigation by writing the URL that it read before its loaders ran. */
function routerWithLoaders(): (path: string) => Promise<void> {
  let latest = 0
  return async (path) => {
    const navigation = ++latest
    await readyTwice()
    if (navigation !== latest) return
    history.replaceState(history.state, '', path)
    shown = path
  }
}

function vueRouter(): Router {
  const View = {
    setup() {
      // biome-ignore lint/correctness/useHookAtTopLevel: `setup` of Vue is no component of React.
      const route = useRoute()
      onMounted(ready)
      return () => {
        shown = route.fullPath
        return h('p', route.fullPath)
      }
    },
  }
  // A component that is loaded when it is shown, so that a navigation takes longer than `ready()`.
  const component = () => new Promise<typeof View>((resolve) => setTimeout(() => resolve(View), 50))
  return createVueRouter({ history: createWebHistory(), routes: [{ path: '/:rest(.*)*', component }] })
}

function startVue(router: Router): void {
  createApp(RouterView).use(router).mount('#root')
}

const orders = {
  async 'vue-router, ready() before app.use(router)'(): Promise<void> {
    const router = vueRouter()
    navigate = (path) => void router.replace(path)
    await ready()
    startVue(router)
  },
  async 'vue-router, ready() beside it'(): Promise<void> {
    const router = vueRouter()
    navigate = (path) => void router.replace(path)
    startVue(router)
    await ready()
    await ready()
  },
  async 'React Router'(): Promise<void> {
    const router = createBrowserRouter([{ path: '*', loader: () => readyTwice().then(() => null), element: null }])
    navigate = (path) => void router.navigate(path, { replace: true })
    router.subscribe(({ location: { pathname, search } }) => {
      shown = pathname + search
      void ready()
    })
  },
  async 'TanStack Router'(): Promise<void> {
    const View = (): string => {
      const { href } = useLocation()
      useEffect(() => void ready())
      shown = href
      return href
    }
    const router = createTanStackRouter({
      routeTree: createRootRoute({ beforeLoad: readyTwice, component: View, notFoundComponent: View }),
    })
    navigate = (path) => router.history.replace(path)
    createRoot(document.querySelector('#root') as Element).render(createElement(RouterProvider, { router }))
  },
  async 'SvelteKit, ready() in load'(): Promise<void> {
    const go = routerWithLoaders()
    navigate = (path) => void go(path)
    await go(location.href.slice(location.origin.length))
  },
}

window.starts = { results, shown: () => shown, auth }
void orders[window.order]()
