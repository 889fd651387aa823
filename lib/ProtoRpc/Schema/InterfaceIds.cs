using System.Security.Cryptography;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema;

/// <summary>The interface id by which a service is known on the native protocol.</summary>
internal static class InterfaceIds
{
    /// <summary>The namespace of ids that are made of a service's full name.</summary>
    public static readonly Guid Namespace = new("c9be564e-39be-4c06-9670-3d1cbad30e64");

    // csharp_options.proto:
    // extend ServiceOptions { optional CSharpServiceOptions csharp_service_options = 1000; }
    private const int CSharpServiceOptionsNumber = 1000;
    private const int InterfaceIdNumber = 1;

    /// <summary>The id that the service's options name, else the one that its name gives.</summary>
    /// <exception cref="RpcException">InvalidArgument when the option is not a GUID.</exception>
    public static Guid Of(ServiceDescriptorProto service, string fullName, string fileName)
    {
        string? text;
        try
        {
            text = FindOption(service.Options);
        }
        catch (InvalidProtocolBufferException e)
        {
            throw SchemaError.Invalid($"{fileName}: the options of service '{fullName}' are broken.", e);
        }

        if (text is null)
        {
            return OfName(Namespace, fullName);
        }

        return Guid.TryParse(text, out Guid id)
            ? id
            : throw SchemaError.Invalid(
                $"{fileName}: the interface_id '{text}' of service '{fullName}' is not a GUID; "
                + "write it as '01234567-89ab-cdef-0123-456789abcdef'.");
    }

    /// <summary>A name-based UUID: version 5 of RFC 9562 section 5.5.</summary>
    public static Guid OfName(Guid space, string name)
    {
        byte[] hash = SHA1.HashData([.. space.ToByteArray(bigEndian: true), .. Encoding.UTF8.GetBytes(name)]);
        hash[6] = (byte)((hash[6] & 0x0F) | 0x50);
        hash[8] = (byte)((hash[8] & 0x3F) | 0x80);
        return new Guid(hash.AsSpan(0, 16), bigEndian: true);
    }

    private static string? FindOption(ServiceOptions? options)
    {
        // Read from the bytes: whether the extension was known when the options were parsed must not matter.
        return options is null
            ? null
            : WireScan.Bytes(options.ToByteString(), CSharpServiceOptionsNumber)
                .SelectMany(inner => WireScan.Bytes(inner, InterfaceIdNumber))
                .LastOrDefault()?.ToStringUtf8();
    }
}
