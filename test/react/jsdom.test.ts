// @vitest-environment jsdom

import { describe } from 'vitest'
import { reactInDom } from '../support/dom-react.ts'

describe('agent-auth/browser and agent-auth/react under jsdom', reactInDom)
