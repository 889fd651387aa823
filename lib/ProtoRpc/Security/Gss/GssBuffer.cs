using System.Runtime.InteropServices;

namespace ProtoRpc.Security.Gss;

/// <summary><c>gss_buffer_desc</c>: octets and how many.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct GssBuffer(byte* value, int length)
{
    public nuint Length = (nuint)length;
    public byte* Value = value;

    public readonly ReadOnlySpan<byte> Span => new(Value, checked((int)Length));

    /// <summary>Copies what the library allocated, and frees it.</summary>
    public static byte[] Take(ref GssBuffer buffer)
    {
        byte[] bytes = buffer.Span.ToArray();
        uint minor;
        fixed (GssBuffer* pointer = &buffer)
        {
            GssApi.gss_release_buffer(&minor, pointer);
        }

        return bytes;
    }
}
