// @module-tag redis
// @module-tag slow

import { failuresSuite } from './failures-suite.ts'

failuresSuite('node-redis')
