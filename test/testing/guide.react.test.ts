// @vitest-environment jsdom

// The tests of a component and of a route that the pages on testing and on React show.
import '../../docs/snippets/testing/react.tsx'
import '../../docs/snippets/testing/route.tsx'
