import { afterEach } from 'vitest'
import { keepIfFailed, recordContextsOf } from './browser-record.ts'
import { launchListeners } from './chromium.ts'

// Runs before every test file of Chromium. Its hook is the last one after a test, when hooks of the file have closed their contexts.
launchListeners.add(recordContextsOf)
afterEach(keepIfFailed)
