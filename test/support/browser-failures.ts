import { beforeEach } from 'vitest'
import { keepIfFailed, recordContextsOf } from './browser-record.ts'
import { launchListeners } from './chromium.ts'

// Runs before each test file that may start Chromium. What it registers first runs last, after a hook that fails as well. Contexts
// may be open until then.
launchListeners.add(recordContextsOf)
beforeEach(({ onTestFinished }) => onTestFinished(keepIfFailed))
