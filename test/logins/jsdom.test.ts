// @vitest-environment jsdom

import { describe } from 'vitest'
import { loginInDom } from '../support/dom-login.ts'

describe('the library under jsdom', loginInDom)
