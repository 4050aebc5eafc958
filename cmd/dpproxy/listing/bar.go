package listing

import (
	"fmt"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Bar returns a bar on standard error, which is not drawn unless it is visible.
func Bar(of string, total int64, visible bool) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionSetDescription(of),
		progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetVisibility(visible),
		progressbar.OptionOnCompletion(func() { fmt.Fprintln(os.Stderr) }),
	)
}
