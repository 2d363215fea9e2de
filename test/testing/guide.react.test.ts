// @vitest-environment jsdom

// The test of a component that the page on testing shows.
import '../../docs/snippets/testing/route.tsx'
