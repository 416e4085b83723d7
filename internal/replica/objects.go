package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/s3/manager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/benbjohnson/litestream"
	"github.com/benbjohnson/litestream/file"
	lss3 "github.com/benbjohnson/litestream/s3"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/replica/place"
)

// objects are the small ones at a place that are art's own, beside Litestream's.
type objects interface {
	// get returns one. The error is fs.ErrNotExist if there is none.
	get(ctx context.Context, name string) ([]byte, error)
	// put writes one in the place of another, or of none.
	put(ctx context.Context, name string, data []byte) error
	// create writes one that is not there. The error is fs.ErrExist if it is, also where two create it at once.
	create(ctx context.Context, name string, data []byte) error
}

// maxObject bounds what is read of one, in bytes.
const maxObject = 64 << 10

// open returns the ways to what is at a place: Litestream's, and to art's own objects.
func open(ctx context.Context, text string) (litestream.ReplicaClient, objects, error) {
	u, err := place.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	if u.Scheme == place.File {
		return file.NewReplicaClient(u.Path), directory(u.Path), nil
	}
	return openBucket(ctx, u)
}

// directory is a place that is a directory of this host.
type directory string

func (d directory) get(_ context.Context, name string) ([]byte, error) {
	f, err := os.Open(filepath.Join(string(d), name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxObject))
}

func (d directory) put(_ context.Context, name string, data []byte) error {
	return d.write(name, data, os.Rename)
}

func (d directory) create(_ context.Context, name string, data []byte) error {
	return d.write(name, data, os.Link)
}

// write writes an object beside its place, and has move put it there as a whole.
func (d directory) write(name string, data []byte, move func(from, to string) error) error {
	f, err := os.CreateTemp(string(d), "."+name+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = move(f.Name(), filepath.Join(string(d), name))
	}
	return err
}

// bucket is a place in a store that speaks S3.
type bucket struct {
	client       *s3.Client
	bucket, path string
}

func openBucket(ctx context.Context, u *url.URL) (litestream.ReplicaClient, objects, error) {
	// As Litestream reads it: it knows the stores, and what each of them needs.
	inner, err := litestream.NewReplicaClientFromURL(u.String())
	if err != nil {
		return nil, nil, err
	}
	c, ok := inner.(*lss3.ReplicaClient)
	if !ok {
		return nil, nil, fmt.Errorf("there is no such store: %s", u.Scheme)
	}
	// Litestream would take a key of the environment without the token that a temporary one needs. Those of the AWS SDK have it.
	c.AccessKeyID, c.SecretAccessKey = "", ""
	// Nor can the SDK add certificates to the client of HTTP that Litestream gives it. Go has another variable for them.
	if bundle := os.Getenv("AWS_CA_BUNDLE"); bundle != "" {
		os.Setenv("SSL_CERT_FILE", bundle)
		os.Unsetenv("AWS_CA_BUNDLE")
	}
	load := func(options ...func(*config.LoadOptions) error) (*s3.Client, error) {
		cfg, err := config.LoadDefaultConfig(ctx, options...)
		if err != nil {
			return nil, err
		}
		return s3.NewFromConfig(cfg, func(o *s3.Options) {
			o.UsePathStyle = c.ForcePathStyle
			if c.Endpoint != "" {
				o.BaseEndpoint = aws.String(c.Endpoint)
				// As Litestream does: other stores do not know the checksums.
				o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
				o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
			}
		}), nil
	}
	if c.Region == "" && c.Endpoint == "" {
		client, err := load(config.WithRegion(lss3.DefaultRegion))
		if err == nil {
			c.Region, err = manager.GetBucketRegion(ctx, client, c.Bucket)
		}
		if err != nil {
			return nil, nil, explain(err)
		}
	}
	region := c.Region
	if region == "" {
		region = lss3.DefaultRegion
	}
	client, err := load(config.WithRegion(region))
	if err != nil {
		return nil, nil, explain(err)
	}
	return c, &bucket{client, c.Bucket, strings.Trim(u.Path, "/")}, nil
}

func (b *bucket) key(name string) *string { return aws.String(path.Join(b.path, name)) }

func (b *bucket) get(ctx context.Context, name string) ([]byte, error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: b.key(name)})
	if err != nil {
		return nil, explain(err)
	}
	defer out.Body.Close()
	return io.ReadAll(io.LimitReader(out.Body, maxObject))
}

func (b *bucket) put(ctx context.Context, name string, data []byte) error {
	return b.write(ctx, name, data, nil)
}

func (b *bucket) create(ctx context.Context, name string, data []byte) error {
	return b.write(ctx, name, data, aws.String("*"))
}

func (b *bucket) write(ctx context.Context, name string, data []byte, unless *string) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.bucket, Key: b.key(name), Body: bytes.NewReader(data), IfNoneMatch: unless})
	return explain(err)
}

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
func (r *refused) Hint() string  { return r.hint }

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
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("it does not answer")
	}
	var sending *url.Error
	if errors.As(err, &sending) {
		return sending.Err
	}
	return cli.Reason(err)
}
