export type { AccessChange, EndpointId } from './access-change.ts'
export type {
  Seed,
  SeedAgent,
  SeedClient,
  SeedConfigs,
  SeedContextGroup,
  SeedContextVariable,
  SeedModel,
  SeedPerson,
  SeedTenant,
} from './seed/seed-schema.ts'
export { createService } from './server/create-service.ts'
export { startService } from './server/start-service.ts'
export type { Client, DevControls, Person, Service } from './service.ts'
export type { ServiceOptions } from './service-options.ts'
export type {
  EventEntry,
  FaultEffect,
  FaultMatch,
  FaultRule,
  JournalEntry,
  RequestEntry,
  SecurityEvent,
} from './state.ts'
