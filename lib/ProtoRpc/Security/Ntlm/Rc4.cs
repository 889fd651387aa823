using System.Security.Cryptography;

namespace ProtoRpc.Security.Ntlm;

/// <summary>The RC4 stream cipher, which .NET does not have and NTLM seals with. Broken by today's standard:
/// it is here for peers that know no better.</summary>
/// <remarks>One stream of one direction. Not thread-safe.</remarks>
internal sealed class Rc4 : IDisposable
{
    private readonly byte[] _state = new byte[256];
    private byte _i;
    private byte _j;

    public Rc4(ReadOnlySpan<byte> key) => Rekey(key);

    /// <summary>Encrypts or decrypts with a new key stream.</summary>
    public static void Transform(ReadOnlySpan<byte> key, ReadOnlySpan<byte> source, Span<byte> target)
    {
        using Rc4 stream = new(key);
        stream.Transform(source, target);
    }

    /// <summary>Begins the stream anew.</summary>
    public void Rekey(ReadOnlySpan<byte> key)
    {
        for (int i = 0; i < _state.Length; i++)
        {
            _state[i] = (byte)i;
        }

        byte j = 0;
        for (int i = 0; i < _state.Length; i++)
        {
            j = (byte)(j + _state[i] + key[i % key.Length]);
            (_state[i], _state[j]) = (_state[j], _state[i]);
        }

        _i = _j = 0;
    }

    /// <summary>Encrypts or decrypts what comes next; both spans may be the same.</summary>
    public void Transform(ReadOnlySpan<byte> source, Span<byte> target)
    {
        byte[] state = _state;
        byte i = _i;
        byte j = _j;
        target = target[..source.Length];
        for (int k = 0; k < source.Length; k++)
        {
            byte x = state[++i];
            j += x;
            byte y = state[j];
            state[i] = y;
            state[j] = x;
            target[k] = (byte)(source[k] ^ state[(byte)(x + y)]);
        }

        _i = i;
        _j = j;
    }

    /// <summary>Forgets the key.</summary>
    public void Dispose() => CryptographicOperations.ZeroMemory(_state);
}
