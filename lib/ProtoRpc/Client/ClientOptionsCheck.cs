using ProtoRpc.Client.Native;
using ProtoRpc.Security;
using ProtoRpc.Transports;

namespace ProtoRpc.Client;

/// <summary>Rejects options that do not apply to an endpoint, before anything is sent.</summary>
internal static class ClientOptionsCheck
{
    /// <exception cref="RpcException">InvalidArgument or Unimplemented.</exception>
    public static void Check(RpcEndpoint endpoint, RpcClientOptions options)
    {
        if (options.MultiPartThreshold < MultiPartSender.MinThreshold)
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"A multi-part threshold of {options.MultiPartThreshold} bytes is too small; "
                + $"use {MultiPartSender.MinThreshold} or more.");
        }

        if (options.UseTls && !endpoint.Has(EndpointFeatures.OptionalTls))
        {
            throw EndpointErrors.NoTls(endpoint);
        }

        ClientLogin.Check(options.Security);
        ServerAccount.Check(endpoint, options.Security);
        if (options.Compression == RpcCompression.Brotli && endpoint.Has(EndpointFeatures.Gzip)
            && !endpoint.Has(EndpointFeatures.Brotli))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument,
                $"Brotli is for HTTP; requests to '{endpoint}' are compressed with gzip or not at all.")
            {
                ErrorId = RpcErrorIds.CompressionNotSupported,
                Endpoint = endpoint,
            };
        }

        ClientAuthorization.Check(endpoint, options);
    }
}
