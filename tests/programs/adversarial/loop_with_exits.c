// A loop that searches is left by one of two exits, and behind each other locks are taken.
// run: => 1 0
// run: a => 2 0
// run: aab => 3 1
// run: abcabc => 3 3
// run: aaaaaaaa => 1 5
// run: xyz => 4 0
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
    char letter;
    struct word *next;
};

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t count = PTHREAD_MUTEX_INITIALIZER;
static struct word *words;
static int found, made;

static void look_up(char letter) {
    pthread_mutex_lock(&table);
    struct word *word = words;
    while (word && word->letter != letter)
        word = word->next;
    if (word) {
        found++;
    } else {
        word = malloc(sizeof *word);
        word->letter = letter;
        word->next = words;
        words = word;
        pthread_mutex_lock(&count);
        made++;
        pthread_mutex_unlock(&count);
    }
    pthread_mutex_unlock(&table);
}

static void *worker(void *text) {
    const char *letters = text;
    size_t length = strlen(letters);
    for (size_t i = 0; i < length && i < 3; i++)
        look_up(letters[i]);
    return NULL;
}

int main(int argc, char **argv) {
    const char *text = argc > 1 ? argv[1] : "";
    const char *rest = strlen(text) > 3 ? text + 3 : "q";
    pthread_t t;
    pthread_create(&t, NULL, worker, (void *)rest);
    worker((void *)text);
    pthread_join(t, NULL);
    printf("%d %d\n", made, found);
    return 0;
}
