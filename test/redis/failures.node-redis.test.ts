// @module-tag redis

import { failuresSuite } from './failures-suite.ts'

failuresSuite('node-redis')
