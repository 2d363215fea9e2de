import { reactRouter } from '@react-router/dev/vite'
import type { UserConfig } from 'vite'

const config: UserConfig = { plugins: [reactRouter()], resolve: { dedupe: ['react', 'react-dom', 'react-router'] } }

export default config
