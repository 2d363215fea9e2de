// @vitest-environment happy-dom
// @vitest-environment-options { "settings": { "navigation": { "disableMainFrameNavigation": true, "disableFallbackToSetURL": true } } }

import { describe } from 'vitest'
import { reactInDom } from '../support/dom-react.ts'

describe('agent-auth/browser and agent-auth/react under happy-dom', reactInDom)
