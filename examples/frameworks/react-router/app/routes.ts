import { index, type RouteConfig, route } from '@react-router/dev/routes'

export default [
  index('home.tsx'),
  route('models', 'models.tsx'),
  route('auth/*', 'serve.ts', { id: 'auth' }),
  route('api/*', 'serve.ts', { id: 'api' }),
] satisfies RouteConfig
