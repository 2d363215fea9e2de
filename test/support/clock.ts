export { type TestClock, testClock } from '../../src/testing/clock.ts'
