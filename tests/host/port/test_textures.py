"""Textures where the GPU has no image instructions: the same values by ordinary loads."""

from pathlib import Path

import pytest
from tests.host.port.conftest import needs_amd

from kernelwright.bench.port_bench import chosen
from kernelwright.dialects.amdgpu import compile_hip
from kernelwright.dialects.simt import machine
from kernelwright.hipify import State, translate

NO_IMAGES = ("__HIP_NO_IMAGE_SUPPORT=1",)
NORMALISED = """#include <cstdio>
__global__ void read(cudaTextureObject_t t, float* out) {
  const float4 v = tex2D<float4>(t, 1.25f, 0.5f);
  tex2D(&out[4], t, 0.0f, 0.5f);
  out[0] = v.x; out[1] = v.y; out[2] = v.z; out[3] = v.w;
}
int main() {
  const unsigned char texels[16] = {0, 51, 102, 255, 255, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
  cudaChannelFormatDesc desc = cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned);
  cudaArray_t array;
  cudaMallocArray(&array, &desc, 4, 1);
  cudaMemcpy2DToArray(array, 0, 0, texels, 16, 16, 1, cudaMemcpyHostToDevice);
  cudaResourceDesc from = {};
  from.resType = cudaResourceTypeArray;
  from.res.array.array = array;
  cudaTextureDesc how = {};
  how.normalizedCoords = 1;
  how.addressMode[0] = cudaAddressModeWrap;
  how.readMode = cudaReadModeNormalizedFloat;
  cudaTextureObject_t texture;
  cudaCreateTextureObject(&texture, &from, &how, nullptr);
  float* out;
  cudaMallocManaged(&out, 32);
  read<<<1, 1>>>(texture, out);
  cudaDeviceSynchronize();
  printf("%.2f %.2f %.2f %.2f %.2f\\n", out[0], out[1], out[2], out[3], out[4]);
}
"""
ALL_KINDS = Path(__file__).with_name("all_textures.cu").read_text()


@pytest.mark.parametrize("program", chosen(["texture"]), ids=lambda p: p.name)
def test_replacement_loads_return_the_same_values_as_textures(program, tmp_path):
    text = translate(program.source).text
    built = machine.build(text, folder=tmp_path, defines=NO_IMAGES)
    for width in machine.WIDTHS:
        run = machine.run(built, width=width)
        assert (run.output.strip(), run.complaints) == (program.expected, ())


def test_integers_read_as_fractions_and_coordinates_that_wrap(tmp_path):
    text = translate(NORMALISED).text
    built = machine.build(text, folder=tmp_path, defines=NO_IMAGES)
    assert machine.run(built).output == "1.00 0.00 0.00 0.00 0.00\n"


@needs_amd
def test_textures_compile_for_a_target_without_images(tmp_path):
    path = tmp_path / "a.hip"
    path.write_text(translate(NORMALISED).text)
    for target in ("gfx942", "gfx1100"):
        assert compile_hip(path, target=target).errors == ()


@pytest.mark.parametrize("defines", [(), NO_IMAGES], ids=["images", "loads"])
def test_references_volumes_layers_and_surfaces(defines, tmp_path):
    wanted = "3 0.1 1.08632e+09 8.5 7 7\n"
    original = machine.run(machine.build(ALL_KINDS, folder=tmp_path))
    assert (original.output, original.complaints) == (wanted, ())
    done = translate(ALL_KINDS)
    assert done.unported == () and "texture<" not in done.text
    run = machine.run(machine.build(done.text, folder=tmp_path, name="port", defines=defines))
    assert (run.output, run.complaints) == (wanted, ())


@needs_amd
def test_references_compile_for_every_target(tmp_path):
    path = tmp_path / "a.hip"
    path.write_text(translate(ALL_KINDS).text)
    for target in ("gfx942", "gfx1100"):
        assert compile_hip(path, target=target).errors == ()


def test_the_way_back_calls_cudas_textures_again():
    there = translate(NORMALISED).text
    back = translate(there, to="cuda").text
    assert "port_" not in back and "tex2D<float4>(t, 1.25f, 0.5f)" in back


def test_a_type_of_the_programs_own_may_be_called_texture(tmp_path):
    text = """#include <cstdio>
struct texture { int colour; };
int main() { texture t = {3}; printf("%d", t.colour); }
"""
    assert machine.run(machine.build(text, folder=tmp_path)).output == "3"
    assert translate(text).text.count("texture") == 2


def test_a_file_with_other_textures_is_left_and_reported():
    done = translate(
        "void f() { cudaMallocMipmappedArray(&a, &d, e, 3); }\n"
        "__global__ void k(cudaTextureObject_t t) { float v = tex2D<float>(t, 1, 2); }\n"
    )
    assert "port_" not in done.text
    (found,) = [f for f in done.findings if f.construct == "tex2D"]
    assert found.state is State.CHANGED and "gfx942" in found.reason
