/** The id of the user whom the page that sends a request belongs to. The API refuses the request if the session is another user's. */
export const USER_HEADER = 'X-Tocsin-User';
