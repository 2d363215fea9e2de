import type { RunningService, ServiceFault, TestPage } from 'agent-auth/testing'
import type { FaultRule, Service } from 'agent-service'
import type { Page } from 'playwright-core'

// The kit describes agent-service and Playwright by their shape, because neither is a dependency. These lines hold the shapes.

export const running = (service: Service): RunningService => service
export const page = (playwright: Page): TestPage => playwright
export const faults = (fault: ServiceFault, rule: FaultRule): [FaultRule, ServiceFault] => [fault, rule]
