import { index, type RouteConfig, route } from '@react-router/dev/routes'

export default [
  index('home.tsx'),
  route('models', 'models.tsx'),
  route('auth/*', 'backend.ts', { id: 'auth' }),
  route('api/*', 'backend.ts', { id: 'api' }),
] satisfies RouteConfig
