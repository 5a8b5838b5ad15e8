// Plays a round through gomemcache, which speaks the text dialect; prints one line a step.
// Argument: host:port.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

func main() {
	client := memcache.New(os.Args[1])
	client.Timeout = 10 * time.Second
	value := func(key string) string {
		item, err := client.Get(key)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%q %d", item.Value, item.Flags)
	}
	say := func(step string, results ...any) { fmt.Println(step, results) }

	say("set", client.Set(&memcache.Item{Key: "k", Value: []byte("Zoë \t\x01\r\n🐬"), Flags: 77}), value("k"))
	say("miss", value("nothing"))
	say("add", client.Add(&memcache.Item{Key: "a", Value: []byte("one")}),
		client.Add(&memcache.Item{Key: "a", Value: []byte("two")}), value("a"))
	say("replace", client.Replace(&memcache.Item{Key: "a", Value: []byte("three")}),
		client.Replace(&memcache.Item{Key: "nothing", Value: []byte("x")}), value("a"))
	say("append", client.Append(&memcache.Item{Key: "a", Value: []byte("!")}),
		client.Prepend(&memcache.Item{Key: "a", Value: []byte(">")}),
		client.Append(&memcache.Item{Key: "nothing", Value: []byte("x")}), value("a"))
	client.Set(&memcache.Item{Key: "n", Value: []byte("40")})
	up, upErr := client.Increment("n", 2)
	down, downErr := client.Decrement("n", 100)
	_, badErr := client.Increment("a", 1)
	_, missErr := client.Increment("nothing", 1)
	say("count", up, upErr, down, downErr, badErr, missErr)
	item, _ := client.Get("a")
	item.Value = []byte("four")
	say("cas", client.CompareAndSwap(item), client.CompareAndSwap(item), value("a"))
	say("touch", client.Touch("a", 100), client.Touch("nothing", 100))
	got, err := client.GetAndTouch("a", 200)
	say("gat", string(got.Value), err)
	var keys, found []string
	for i := 0; i < 100; i++ {
		client.Set(&memcache.Item{Key: fmt.Sprintf("m%d", i), Value: []byte(fmt.Sprint("value ", i))})
	}
	for i := 0; i < 130; i += 10 {
		keys = append(keys, fmt.Sprintf("m%d", i))
	}
	items, err := client.GetMulti(keys)
	for key, one := range items {
		found = append(found, key+"="+string(one.Value))
	}
	sort.Strings(found)
	say("multi", strings.Join(found, ","), err)
	say("large", client.Set(&memcache.Item{Key: "big", Value: []byte(strings.Repeat("x", 500000))}), len(value("big")))
	say("too large", client.Set(&memcache.Item{Key: "huge", Value: []byte(strings.Repeat("x", 1100000))}))
	say("delete", client.Delete("k"), client.Delete("k"), value("k"))
	say("expired", client.Set(&memcache.Item{Key: "gone", Value: []byte("x"), Expiration: -1}), value("gone"))
	say("bad key", client.Set(&memcache.Item{Key: strings.Repeat("k", 251), Value: []byte("x")}))
	say("ping", client.Ping())
}
