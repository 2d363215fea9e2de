interface Settings {
  readonly authUrl: string
  readonly baseUrl: string
  readonly clientId: string
}

export const settings: Settings = JSON.parse(document.querySelector('#config')?.textContent ?? '{}')
