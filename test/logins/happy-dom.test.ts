// @vitest-environment happy-dom

import { describe } from 'vitest'
import { loginInDom } from '../support/dom-login.ts'

describe('the library under happy-dom', loginInDom)
