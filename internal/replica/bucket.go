package replica

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/s3/manager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/benbjohnson/litestream"
	lss3 "github.com/benbjohnson/litestream/s3"
)

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
	load := func(region string) (*s3.Client, error) {
		answers := awshttp.NewBuildableClient().WithTimeout(answerTime) // otherwise without end; what is asked by this client is short
		cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithHTTPClient(answers))
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
		client, err := load(lss3.DefaultRegion)
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
	client, err := load(region)
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
