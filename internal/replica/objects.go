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
	"github.com/superfly/ltx"

	"github.com/riverlytech/art/internal/cli"
	"github.com/riverlytech/art/internal/replica/place"
)

// objects are the small ones at a place that are art's own, beside Litestream's. Each has a tag, which is another one after each change.
type objects interface {
	// get returns one, and its tag. The error is fs.ErrNotExist if there is none.
	get(ctx context.Context, name string) (data []byte, tag string, err error)
	// swap writes one in the place of that with a tag, or, with none, where there is none. It returns the new tag. The error is
	// fs.ErrExist if another one is there, also where two swap it at once. After any other error it may have been written, or be
	// written later: but only in the place of that one.
	swap(ctx context.Context, name string, data []byte, tag string) (next string, err error)
	// entries returns what is there, and below returns the objects of a directory of that.
	entries(ctx context.Context) (dirs, files []string, err error)
	below(dir string) objects
}

// maxObject bounds what is read of one, in bytes.
const maxObject = 256 << 10

// readObject reads one.
func readObject(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxObject+1))
	if err == nil && len(data) > maxObject {
		err = damaged(name)
	}
	return data, err
}

// damaged says that an object has not what art writes.
func damaged(name string) error {
	return &refused{name + " there is damaged", "name another place, or remove what is there"}
}

// store is a place.
type store struct {
	own objects
	// client returns Litestream's way to a directory below the place; "" is the place itself.
	client func(dir string) (litestream.ReplicaClient, error)
}

// open returns a place.
func open(ctx context.Context, text string) (*store, error) {
	u, err := place.Parse(text)
	if err != nil {
		return nil, err
	}
	return openURL(ctx, u)
}

func openURL(ctx context.Context, u *url.URL) (s *store, err error) {
	switch u.Scheme {
	case place.File:
		s = &store{directory{local{}, u.Path}, func(dir string) (litestream.ReplicaClient, error) {
			return files{file.NewReplicaClient(filepath.Join(u.Path, dir))}, nil
		}}
	case place.SFTP:
		s, err = openServer(u)
	default:
		s, err = openBucket(ctx, u)
	}
	if err != nil {
		return nil, err
	}
	client := s.client
	s.client = func(dir string) (litestream.ReplicaClient, error) {
		c, err := client(dir)
		if err != nil {
			return nil, err
		}
		return guard(c), nil
	}
	return s, nil
}

// last is the number of the last file that Litestream has put into a directory; 0: there is none. Of an empty directory, as each new session's
// place is, it asks once, and not for each level: with many sessions that begin, a store has these requests to answer before all others.
func (s *store) last(ctx context.Context, dir string) (last ltx.TXID, err error) {
	switch dirs, _, err := s.own.below(dir).entries(ctx); {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(dirs) == 0:
		return 0, nil
	case err != nil:
		return 0, err
	}
	client, err := s.client(dir)
	if err != nil {
		return 0, err
	}
	files, err := list(ctx, client, false)
	if err != nil {
		return 0, explain(err)
	}
	return files.last(), nil
}

// bucket is a place in a store that speaks S3.
type bucket struct {
	client       *s3.Client
	bucket, path string
}

func openBucket(ctx context.Context, u *url.URL) (*store, error) {
	// As Litestream reads it: it knows the stores, and what each of them needs.
	inner, err := litestream.NewReplicaClientFromURL(u.String())
	if err != nil {
		return nil, err
	}
	c, ok := inner.(*lss3.ReplicaClient)
	if !ok {
		return nil, fmt.Errorf("there is no such store: %s", u.Scheme)
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
			return nil, explain(err)
		}
	}
	region := c.Region
	if region == "" {
		region = lss3.DefaultRegion
	}
	client, err := load(config.WithRegion(region))
	if err != nil {
		return nil, explain(err)
	}
	root := strings.Trim(u.Path, "/")
	return &store{&bucket{client, c.Bucket, root}, func(dir string) (litestream.ReplicaClient, error) {
		below := *u
		below.Path = "/" + path.Join(root, dir)
		inner, err := litestream.NewReplicaClientFromURL(below.String())
		if err != nil {
			return nil, err
		}
		at := inner.(*lss3.ReplicaClient) // as above
		at.AccessKeyID, at.SecretAccessKey, at.Region = "", "", c.Region
		// The SDK keeps twice as many parts of 5 MiB in memory as it sends at once, and one more.
		at.Concurrency = 1
		return at, nil
	}}, nil
}

func (b *bucket) key(name string) *string { return aws.String(path.Join(b.path, name)) }

func (b *bucket) get(ctx context.Context, name string) ([]byte, string, error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: b.key(name)})
	if err != nil {
		return nil, "", explain(err)
	}
	defer out.Body.Close()
	data, err := readObject(name, out.Body)
	return data, aws.ToString(out.ETag), err
}

func (b *bucket) swap(ctx context.Context, name string, data []byte, tag string) (string, error) {
	in := &s3.PutObjectInput{Bucket: &b.bucket, Key: b.key(name), Body: bytes.NewReader(data)}
	if tag == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = &tag
	}
	out, err := b.client.PutObject(ctx, in)
	if err != nil {
		return "", explain(err)
	}
	return aws.ToString(out.ETag), nil
}

func (b *bucket) entries(ctx context.Context) (dirs, files []string, err error) {
	prefix := ""
	if b.path != "" {
		prefix = b.path + "/"
	}
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.bucket, Prefix: &prefix, Delimiter: aws.String("/")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, explain(err)
		}
		for _, p := range page.CommonPrefixes {
			if name := strings.Trim(strings.TrimPrefix(aws.ToString(p.Prefix), prefix), "/"); name != "" {
				dirs = append(dirs, name)
			}
		}
		for _, o := range page.Contents {
			files = append(files, strings.TrimPrefix(aws.ToString(o.Key), prefix))
		}
	}
	return dirs, files, nil
}

func (b *bucket) below(dir string) objects {
	return &bucket{b.client, b.bucket, path.Join(b.path, dir)}
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
