package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/riverlytech/art/internal/cli"
)

// refusals are what a store says, by its own word for it, when trying again is of no use.
var refusals = map[string]string{
	"AccessDenied":          "it does not let these credentials do that",
	"Forbidden":             "it does not let these credentials do that",
	"InvalidAccessKeyId":    "it does not know the access key",
	"SignatureDoesNotMatch": "the secret key is not that of the access key",
	"ExpiredToken":          "the credentials have expired",
	"InvalidToken":          "it does not know the session token",
	"NoSuchBucket":          "there is no such bucket",
	"InvalidBucketName":     "a bucket cannot have that name",
}

// stays tells whether an answer of HTTP is the same when it is asked for again.
func stays(status int) bool {
	return status >= 400 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusConflict && status != http.StatusTooManyRequests
}

const accessHint = "say which credentials with AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"

// refused is an error that the store has answered, and that stays until somebody does something about it.
type refused struct {
	says string
	hint string
}

func (r *refused) Error() string { return r.says }

// IsRefused tells whether an error is one that a place has answered with, and will again.
func IsRefused(err error) bool { return errors.As(err, new(*refused)) }

func (r *refused) Hint() string { return r.hint }

// explain says in plain words what a store has answered, or why it could not be asked.
func explain(err error) error {
	var api smithy.APIError
	var answer interface{ HTTPStatusCode() int }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &api):
		switch code := api.ErrorCode(); {
		case code == "NoSuchKey" || code == "NotFound":
			return fs.ErrNotExist
		case code == "PreconditionFailed" || code == "ConditionalRequestConflict":
			return fs.ErrExist
		case refusals[code] != "":
			hint := accessHint
			if strings.Contains(code, "Bucket") {
				hint = "make the bucket, or name another"
			}
			return &refused{"the store says: " + refusals[code] + " (" + code + ")", hint}
		case errors.As(err, &answer) && stays(answer.HTTPStatusCode()):
			return &refused{"the store says: " + api.ErrorMessage() + " (" + code + ")", accessHint}
		default:
			return fmt.Errorf("the store says: %s (%s)", api.ErrorMessage(), code)
		}
	case strings.Contains(err.Error(), "failed to refresh cached credentials"), strings.Contains(err.Error(), "get identity"):
		return &refused{"there are no credentials for it", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or have them in ~/.aws/credentials"}
	case strings.Contains(err.Error(), "partial credentials found"):
		return &refused{"the credentials for it are not complete", "the profile in ~/.aws/credentials needs both, aws_access_key_id and aws_secret_access_key"}
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("it does not answer")
	}
	var sending *url.Error
	if errors.As(err, &sending) {
		return sending.Err
	}
	return cli.Reason(err)
}
