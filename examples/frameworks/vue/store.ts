import { useAuth } from 'agent-auth/vue'
import { defineStore } from 'pinia'
import { ref, watch } from 'vue'
import { countModels } from './models'

export const useModels = defineStore('models', () => {
  const { state } = useAuth()
  const text = ref('…')
  // The store lives longer than a user, and must not show the data of the last one.
  watch(
    () => state.value.sessionRef,
    async (user) => {
      text.value = user ? await countModels().catch(String) : '…'
    },
    { immediate: true },
  )
  return { text }
})
