// The tests that the page on testing shows.
import '../../docs/snippets/testing/bad-days.ts'
import '../../docs/snippets/testing/backend.ts'
import '../../docs/snippets/testing/fastify.ts'
import '../../docs/snippets/testing/tool.ts'
