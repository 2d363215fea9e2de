import fc from 'fast-check'
import { soakShare } from './runs.ts'

// Runs before every test file: the same input each time, so that a failure belongs to the change; `npm run soak` draws its own.
if (soakShare() === 0) fc.configureGlobal({ seed: 20_270_131 })
